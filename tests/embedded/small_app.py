"""The smallest application, to watch the process around it."""

import os

from fastapi import FastAPI

from server.settings import load


def create_app(placement: object = None) -> FastAPI:
    app = FastAPI()

    @app.get("/health/live")
    def live() -> dict[str, object]:
        return {"status": "live", "process": os.getpid(), "database": load().database()}

    return app

"""The loop from a shell: the client's own commands, which it parses itself."""

import sys

import click
from memlift_client.command import main as run_client


class PassedOn(click.Command):
    """A command of the client's: all its words are its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []

    def invoke(self, ctx: click.Context) -> None:
        sys.exit(run_client([str(self.name), *ctx.args]))


def _passed_on(name: str, text: str) -> click.Command:
    return PassedOn(name, help=text, add_help_option=False)


ask = _passed_on("ask", "Ask a server for advice before a task.")
remember = _passed_on("remember", "Tell a server what a task taught.")
report = _passed_on("report", "Tell a server how a task went; --run -- COMMAND reports its exit.")
verify = _passed_on("verify", "Try candidates that wait by --run -- COMMAND.")
import_scores = _passed_on(
    "import-scores", "Report scores of Langfuse, LangSmith, MLflow or a file, by trace."
)

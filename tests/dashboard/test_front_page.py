"""`/` leads people to the dashboard and tells programs where what is."""

from dashboard_builders import a_browser


async def test_a_browser_is_led_to_the_dashboard(app):
    async with a_browser(app) as browser:
        answer = await browser.get("/", headers={"accept": "text/html,*/*;q=0.8"})
        there = await browser.get(answer.headers["location"])

    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/")
    assert there.headers["location"].startswith("/dashboard/login")


async def test_a_program_is_told_where_what_is(app):
    async with a_browser(app) as program:
        answer = await program.get("/")
        places = answer.json()
        assert answer.headers["vary"] == "Accept"
        assert (await program.get(places["contract"])).status_code == 200
        assert (await program.get(places["ready"])).status_code in {200, 503}

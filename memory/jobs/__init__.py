"""What happens by the clock: leadership, the applier of outcomes, the timetable."""

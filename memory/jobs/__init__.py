"""What happens by the clock: timetable, leader, runs."""

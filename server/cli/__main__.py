"""`python -m server.cli COMMAND`."""

from server.cli import main

if __name__ == "__main__":
    main(prog_name="memlift")

"""`python -m hardwon.serve.cli`, which hooks of git and settings of agents contain that 0.11
installed.
"""

from hardwon.surfaces.cli.main import main

if __name__ == "__main__":
    main()

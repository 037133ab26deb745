"""With this folder's parent on the path (PYTHONPATH=drop_in), `from Scripts.ai_memory import
AIMemory` is Hardwon's. Where a folder of the script's own holds a `Scripts`, that one is found
first: there `hardwon drop-in install` puts a module like this in its place.
"""

from hardwon.fixes import drop_in

drop_in.stand_in(__name__)

if __name__ == "__main__":
    from hardwon_cli import run_fix_history

    run_fix_history()

"""With this folder on the path (PYTHONPATH=drop_in), `from ai_memory import AIMemory` is Hardwon's."""

from hardwon.fixes import drop_in

drop_in.stand_in(__name__)

if __name__ == "__main__":
    from hardwon_cli import run_fix_history

    run_fix_history()

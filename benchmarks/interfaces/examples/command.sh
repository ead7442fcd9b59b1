# A shell: advice before the command, its exit code after it.
python -c 'from benchmarks.interfaces.agent import TASKS; print("\n".join(TASKS))' | while read -r task; do
    guideline=$(python -m memlift_client ask "$task" --key "$task" --agent bot </dev/null)
    python -m memlift_client report --key "$task" --agent bot --run -- \
        python -m benchmarks.interfaces.agent "$task" "$guideline" </dev/null
done

# Sourced by proofs that go on after a failure. Counts in `passed` and `failed`.

passed=0
failed=0

check() { # check TEXT COMMAND...
    local text=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok    $text"
    else
        failed=$((failed + 1))
        echo "FAIL  $text"
    fi
}

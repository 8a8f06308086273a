package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/message"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// TestB48_Wait proves that a deadline is what was asked for, however far, or a refusal: never something shorter.
func TestB48_Wait(t *testing.T) {
	for _, tc := range []struct {
		args string
		want message.Millis
	}{
		{`{"seconds":1}`, now + 1000},
		{`{"seconds":0.0001}`, now + 1},
		{`{"seconds":2147483.648}`, now + 2_147_483_648},
		{`{"seconds":2592000}`, now + 2_592_000_000},
		{`{"seconds":34560000}`, now + 34_560_000_000},
		{`{"until":"2026-04-01T00:00:00Z"}`, 1_775_001_600_000},
		{`{"until":"2026-04-01T02:00:00+02:00"}`, 1_775_001_600_000},
		{`{"until":"2026-04-01T00:00:00.0000001Z"}`, 1_775_001_600_001},
		{`{"until":"2027-05-05T23:33:20Z"}`, now + 34_560_000_000},
	} {
		got := asWait(t, mustRun(t, builtin.Wait(), tc.args))
		if diff := cmp.Diff(tool.Wait{Until: tc.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.args, diff)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{`{}`, "arguments: give exactly one of seconds and until"},
		{`{"seconds":1,"until":"2026-04-01T00:00:00Z"}`, "arguments: give exactly one"},
		{`{"seconds":-1}`, "arguments.seconds: minimum: -1 is less than"},
		{`{"seconds":34560001}`, "arguments.seconds: maximum"},
		{`{"seconds":1e300}`, "arguments.seconds: maximum"},
		{`{"seconds":"1"}`, "arguments.seconds: type"},
		{`{"until":"2027-05-05T23:33:20.001Z"}`, "arguments.until: 2027-05-05T23:33:20.001Z is more than 400 days ahead"},
		{`{"until":"2226-04-01T00:00:00Z"}`, "is more than 400 days ahead"},
		{`{"until":"tomorrow"}`, `arguments.until: "tomorrow" is not an RFC 3339 time`},
		{`{"until":"2026-04-01 00:00"}`, "is not an RFC 3339 time"},
	} {
		wantError(t, asDone(t, mustRun(t, builtin.Wait(), tc.args)), tc.want)
	}
}

func TestWait_pastReturnsAtOnce(t *testing.T) {
	for args, want := range map[string]string{
		`{"seconds":0}`:                    "There was nothing to wait for: 2026-03-31T23:33:20Z has passed, it is 2026-03-31T23:33:20Z.",
		`{"until":"2026-03-31T23:33:20Z"}`: "There was nothing to wait for: 2026-03-31T23:33:20Z has passed, it is 2026-03-31T23:33:20Z.",
		`{"until":"1969-12-31T00:00:00Z"}`: "There was nothing to wait for: 1969-12-31T00:00:00Z has passed, it is 2026-03-31T23:33:20Z.",
	} {
		wantText(t, asDone(t, mustRun(t, builtin.Wait(), args)), want)
	}
}

func TestWait_wakes(t *testing.T) {
	x := builtin.Wait()
	w := tool.Wake{Call: tool.Call{Now: now + 5000}, Until: now + 1500, ParkedAt: now}
	w.Expired = true
	wantText(t, wake(t, x, w), "Waited until 2026-03-31T23:33:21.5Z.")
	w.Expired, w.Aborted = false, true
	wantError(t, wake(t, x, w), "aborted")
	w.Aborted, w.Now, w.Reply = false, now+1000, []byte(`null`)
	wantText(t, wake(t, x, w), "Woken at 2026-03-31T23:33:21Z, before 2026-03-31T23:33:21.5Z.")
}

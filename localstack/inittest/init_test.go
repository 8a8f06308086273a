package inittest_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

const (
	// maxBinary is the most bytes that the binary of a function may have.
	maxBinary = 20_000_000
	// rounds is how often each binary is started.
	rounds = 15
	// hello is the name of the function that does nothing.
	hello = "hello"
)

// A function is a binary, and what was measured of it.
type function struct {
	name         string
	binary       string // for this machine
	size, zipped int64  // for Arm
	inits        inits
	took, used   []time.Duration // from the start to the first request for an invocation; CPU time until then
}

// Each function is small, and asks nobody anything before its first invocation. What its start costs is printed, not judged: times are those of
// one machine.
func TestFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("building every function twice takes a while")
	}
	main, err := filepath.Glob("../../functions/*/main.go")
	if err != nil || len(main) == 0 {
		t.Fatalf("finding the functions: %d, %v", len(main), err)
	}
	dirs := []string{"./testdata/" + hello}
	for _, name := range main {
		dirs = append(dirs, filepath.Dir(name))
	}
	var all []*function
	for _, dir := range dirs {
		f := &function{name: filepath.Base(dir)}
		arm := build(t, dir, "arm64")
		f.size, f.zipped = weigh(t, arm)
		f.binary = build(t, dir, "")
		if f.size > maxBinary {
			t.Errorf("%s has %d bytes, want at most %d", f.name, f.size, maxBinary)
		}
		all = append(all, f)
	}
	p := newPlatform(t)
	for _, f := range all {
		f.inits = p.trace(t, f.binary)
		if n := p.asked.Swap(0); n > 0 {
			t.Errorf("%s made %d requests before its first invocation, want none", f.name, n)
		}
	}
	// The one thing that may be asked for: a key that is kept outside of the environment. It also shows that what is asked is counted.
	i := slices.IndexFunc(all, func(f *function) bool { return f.name == "step" })
	if p.run(t, all[i].binary, linger, "STEPWELL_OPENAI_KEY_PARAMETER=/key"); p.asked.Swap(0) != 1 {
		t.Error("step did not ask for its key once")
	}
	for range rounds { // in turn, so that what else the machine does meets all of them
		for _, f := range all {
			took, used := p.start(t, f.binary)
			f.took, f.used = append(f.took, took), append(f.used, used)
		}
	}
	t.Logf("\n%s", table(all))
}

// table compares every function to the first one.
func table(all []*function) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { _, _ = w.Write([]byte(strings.Join(cells, "\t") + "\t\n")) }
	line("function", "MB arm64", "zipped", "start ms", "of hello", "least", "CPU ms", "of hello", "inits", "their ms", "KB", "allocations")
	first := all[0]
	for _, f := range all {
		line(f.name, number(float64(f.size)/1e6), number(float64(f.zipped)/1e6),
			ms(median(f.took)), number(ratio(median(f.took), median(first.took))), number(ratio(slices.Min(f.took), slices.Min(first.took))),
			ms(median(f.used)), number(ratio(median(f.used), median(first.used))),
			whole(f.inits.packages), ms(f.inits.took), whole(f.inits.bytes>>10), whole(f.inits.allocs))
	}
	_ = w.Flush()
	for _, f := range all {
		text.WriteString("\nthe slowest of " + f.name + ":")
		for _, i := range f.inits.slowest {
			text.WriteString("\n    " + i)
		}
	}
	return text.String()
}

func median[T cmp.Ordered](all []T) T {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// env is the environment of every function. Nothing in it exists: whoever is asked is the platform, which counts it.
func (p *platform) env(more ...string) []string {
	return append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(p.runtime.URL, "http://"),
		"AWS_LAMBDA_FUNCTION_NAME=function", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=256",
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=token",
		"AWS_ENDPOINT_URL=" + p.world.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + p.world.URL,
		"HTTP_PROXY=" + p.world.URL, "HTTPS_PROXY=" + p.world.URL,
		"STEPWELL_STORE=dynamodb://table?bucket=bucket", "STEPWELL_TENANT_CLAIM=tenant", "STEPWELL_LOG_FORMAT=json",
		"STEPWELL_STEPS_QUEUE=https://sqs.us-east-1.amazonaws.com/123456789012/steps",
		"STEPWELL_ALARMS_QUEUE=https://sqs.us-east-1.amazonaws.com/123456789012/alarms",
		"STEPWELL_SCHEDULE_GROUP=group", "STEPWELL_SCHEDULE_ROLE=arn:aws:iam::123456789012:role/schedule",
		"STEPWELL_SCHEDULE_TARGET=arn:aws:lambda:us-east-1:123456789012:function:alarm",
		"STEPWELL_EVENT_BUS=bus", "STEPWELL_JWT_ISSUER=https://issuer.example.com", "STEPWELL_JWT_AUDIENCE=stepwell",
		"STEPWELL_MODEL=openai/model", "OPENAI_API_KEY=key", "STEPWELL_FETCH_ALLOW=example.com",
		"TMPDIR=" + os.TempDir(),
	}, more...)
}

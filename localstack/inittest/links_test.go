package inittest_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each function links the clients that it uses, since each of them costs every start. The configuration that other AWS tools use, which brings four
// more, is linked by none, and so are the other stores and the SDKs of models' providers.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := []string{"dynamodb", "s3"}
	want := map[string][]string{
		"submit": {"sqs"}, "step": {"scheduler", "sqs", "ssm"}, "snapshot": nil, "events": nil, "collect": nil, "alarm": {"eventbridge", "sqs"},
	}
	for name, more := range want {
		got := clients(t, "../../functions/"+name)
		if sorted := slices.Sorted(slices.Values(append(slices.Clone(all), more...))); !slices.Equal(got, sorted) {
			t.Errorf("%s links %v, want %v", name, got, sorted)
		}
	}
	if dirs, err := filepath.Glob("../../functions/*/main.go"); err != nil || len(dirs) != len(want) {
		t.Errorf("there are %d functions, %v; want %d", len(dirs), err, len(want))
	}
}

// foreign is what no function in the cloud may link.
var foreign = []string{
	"database/sql", "modernc.org", "github.com/mattn/go-sqlite3", "github.com/ncruces", // SQLite and its drivers
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore", "github.com/stepwell-dev/stepwell/pkg/memstore",
	"github.com/openai", "github.com/sashabaranov", "github.com/anthropics", "google.golang.org/genai", "github.com/tmc/langchaingo",
}

// clients returns the services of AWS that a command links a client of. What is foreign fails the test.
func clients(t *testing.T, dir string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc", dir)
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("what %s links: %v", dir, err)
	}
	var found []string
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); path.Dir(name) == "github.com/aws/aws-sdk-go-v2/service" {
			found = append(found, path.Base(name))
		}
		for _, not := range foreign {
			if name == not || not != "database/sql" && strings.HasPrefix(name, not+"/") { // its driver package alone is a few interfaces
				t.Errorf("%s links %s", dir, name)
			}
		}
		if name == "github.com/aws/aws-sdk-go-v2/config" {
			found = append(found, "config")
		}
	}
	slices.Sort(found)
	return found
}

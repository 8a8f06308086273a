package stepwell_test

import (
	"slices"
	"strings"
	"testing"
)

// A rule says what packages may import. Of this module that is only what may lists, and the leaves under internal/. A
// pattern ending in "/..." also covers what is below it. The first rule that matches a package is its rule.
type rule struct {
	packages []string
	may      []string
	// third lists the modules that may be imported besides the standard library; nil allows any that is not reserved below.
	third []string
	// never lists import paths, with everything below them, that must not appear.
	never []string
	why   string
}

var (
	none     = []string{}
	jsonOnly = []string{"github.com/go-json-experiment/json"}
	noIO     = []string{"context", "net", "os", "io/fs", "database/sql", "log", "log/slog"}
	noWorld  = []string{"net", "os", "database/sql", "github.com/aws"}
)

// lattice is the one way through: arrows that are not here do not exist.
var lattice = []rule{
	{
		packages: []string{""}, may: none, third: none,
		why: "the root is documentation and the tests of the whole",
	},
	{
		packages: []string{"pkg/message"}, may: none, third: jsonOnly, never: noIO,
		why: "messages are data at the bottom: what does no I/O can be hashed, tested and copied anywhere",
	},
	{
		packages: []string{"pkg/kernel/object"}, may: []string{"pkg/message"}, third: jsonOnly, never: noIO,
		why: "objects are data with an oid: what does no I/O can be proven by bytes alone",
	},
	{
		packages: []string{"pkg/kernel/ref"}, may: []string{"pkg/kernel/object"}, third: none, never: noIO,
		why: "ref names are data, shared by stores and kernel",
	},
	{
		packages: []string{"pkg/kernel/store"}, may: []string{"pkg/kernel/object", "pkg/kernel/ref"}, third: jsonOnly, never: noWorld,
		why: "the contract knows neither the kernel above it nor a driver below it, so that both can change alone",
	},
	{
		packages: []string{"pkg/kernel/store/storetest"},
		may:      []string{"pkg/message", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store"}, third: append(jsonOnly, "github.com/google/go-cmp"),
		never: []string{"database/sql", "github.com/aws"},
		why:   "the suite judges every store by the contract alone",
	},
	{
		packages: []string{"pkg/memstore", "pkg/sqlitestore", "pkg/dynstore", "pkg/s3objects"},
		may:      []string{"pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store"},
		never:    []string{"net/http"},
		why:      "a store imports the contract and nothing else of ours: it can neither know a run nor reach another store",
	},
	{
		packages: []string{"pkg/kernel/view"},
		may:      []string{"pkg/message", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store"}, third: jsonOnly, never: noWorld,
		why: "projections read through the contract and cannot act (invariant 19)",
	},
	{
		packages: []string{"pkg/kernel"},
		may:      []string{"pkg/message", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store", "pkg/kernel/view"},
		third:    append(jsonOnly, "github.com/google/uuid", "golang.org/x/sync/errgroup"), never: noWorld,
		why: "the kernel knows no model, tool, host or cloud: everything it decides is decided by refs and objects",
	},
	{
		packages: []string{"pkg/kernel/scene"},
		may:      []string{"pkg/message", "pkg/kernel", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store", "pkg/kernel/view"},
		third:    jsonOnly, never: noWorld,
		why: "the scenes play on any store, with turns that are scripts, also for people to watch",
	},
	{
		packages: []string{"pkg/kernel/kerneltest"},
		may:      []string{"pkg/message", "pkg/kernel", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/scene", "pkg/kernel/store", "pkg/kernel/store/storetest", "pkg/kernel/view", "pkg/memstore", "pkg/sqlitestore"},
		never:    []string{"github.com/aws"},
		why:      "kernel tests play on the embedded stores, with turns that are scripts",
	},
	{
		packages: []string{"pkg/llm/..."}, may: []string{"pkg/message", "pkg/llm"},
		why: "a provider turns requests into messages; what they are for is not its business",
	},
	{
		packages: []string{"pkg/tool/..."}, may: []string{"pkg/message", "pkg/tool"},
		why: "a tool sees its arguments and an environment, never the session that called it",
	},
	{
		packages: []string{"pkg/plugin/..."}, may: []string{"pkg/message", "pkg/llm", "pkg/tool", "pkg/plugin"},
		why: "a plugin contributes values and hooks; it cannot move a ref",
	},
	{
		packages: []string{"pkg/agent/..."},
		may: []string{
			// Of the contract it uses the event bodies that it hands to the kernel.
			"pkg/message", "pkg/kernel", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store", "pkg/kernel/view",
			"pkg/llm", "pkg/tool", "pkg/plugin", "pkg/agent",
		},
		never: []string{"database/sql", "github.com/aws", "net/http"},
		why:   "the turn acts through the kernel's handles and knows no concrete store, so that it can write nothing unfenced",
	},
	{
		packages: []string{"pkg/api"}, may: []string{"pkg/message", "pkg/kernel/object"}, third: jsonOnly, never: []string{"net", "os", "database/sql", "github.com/aws"},
		why: "both sides of the wire meet at these types: whatever this package imports, every client imports",
	},
	{
		packages: []string{"pkg/sdk/..."},
		may: []string{
			"pkg/message", "pkg/api", "pkg/kernel", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store", "pkg/kernel/view",
			"pkg/llm", "pkg/tool", "pkg/plugin", "pkg/agent", "pkg/sdk",
		},
		never: []string{"database/sql", "github.com/aws", "net/http"},
		why:   "the facade takes any store as a value, and is served by HTTP without knowing it",
	},
	{
		packages: []string{"pkg/httpapi/..."}, may: []string{"pkg/message", "pkg/kernel/object", "pkg/api", "pkg/httpapi"}, never: []string{"database/sql", "github.com/aws"},
		why: "HTTP serves api.Service, not the SDK behind it, so that one handler is the local server and every function",
	},
	{
		packages: []string{"pkg/client/..."}, may: []string{"pkg/message", "pkg/kernel/object", "pkg/api", "pkg/client"}, never: []string{"database/sql", "github.com/aws"},
		why: "a client carries the wire and its outbox, and nothing of the server",
	},
	{
		packages: []string{"internal/boot/..."}, may: []string{"pkg/...", "internal/...", "web"},
		why: "wiring imports everything, and only mains import the wiring",
	},
	{
		packages: []string{"internal/lambdahttp"}, may: []string{"pkg/message", "pkg/api", "pkg/kernel/object", "pkg/kernel/ref"},
		third: append(jsonOnly, "github.com/aws/aws-lambda-go", "github.com/coreos/go-oidc"), never: []string{"database/sql", "os/exec"},
		why: "what carries HTTP for Lambda serves any handler, and calls no service of the cloud",
	},
	{
		packages: []string{"internal/wake/...", "internal/eventbus/..."}, may: []string{"internal/wake", "internal/eventbus", "pkg/message", "pkg/api", "pkg/kernel/object", "pkg/kernel/ref"},
		why: "cloud adapters speak AWS on one side and the wire types on the other",
	},
	{
		packages: []string{"internal/bench"}, may: []string{"pkg/..."}, never: []string{"github.com/aws"},
		why: "the measurements are a main of their own over the kernel and the embedded store, and nothing imports them",
	},
	{
		packages: []string{"internal/history"}, may: []string{"pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/store"},
		third: []string{"github.com/anishathalye/porcupine"}, never: noWorld,
		why: "recorded calls are judged by the contract alone, for the tests of every store, and nothing that is built imports them",
	},
	{
		packages: []string{"internal/..."}, may: none, never: []string{"github.com/aws"},
		why: "what is under internal/ is a leaf: one idea, usable from anywhere, knowing no one",
	},
	{
		packages: []string{"web"}, may: none, third: none,
		why: "the web page is embedded files",
	},
	{
		packages: []string{"cmd/..."},
		may: []string{
			"pkg/message", "pkg/api", "pkg/client", "pkg/httpapi", "pkg/kernel", "pkg/kernel/object", "pkg/kernel/ref", "pkg/kernel/scene", "pkg/kernel/store", "pkg/kernel/view",
			"internal/boot/...", "cmd/...", "web",
		},
		why: "the command wires and prints; its plumbing reads a repository as it is",
	},
	{
		packages: []string{"functions/..."}, may: []string{"pkg/api", "pkg/httpapi", "internal/boot/...", "internal/lambdahttp", "internal/wake/...", "internal/eventbus/..."},
		why: "a function reads its configuration, wires and starts; logic that is only in a function is not tested locally",
	},
	{
		packages: []string{"localstack/..."}, may: []string{"pkg/...", "internal/...", "localstack/..."},
		why: "the local stack plays the cloud around the real binaries",
	},
}

// reserved modules have homes; elsewhere they must not appear, whatever the rule of the package says.
var reserved = []struct {
	prefix string
	homes  []string
	why    string
}{
	{"github.com/aws", []string{"pkg/dynstore", "pkg/s3objects", "pkg/llm/bedrock", "internal/lambdahttp", "internal/wake/...", "internal/eventbus/...", "internal/boot/...", "functions/...", "localstack/..."}, "the AWS SDK belongs in the adapters and mains"},
	{"modernc.org/sqlite", []string{"pkg/sqlitestore", "internal/bench"}, "one package knows SQL, and the measurements its floor"},
	{module + "/internal/boot", []string{"cmd/...", "functions/...", "internal/boot/...", "localstack/..."}, "only mains import the wiring"},
	{"testing", nil, "a test harness does not belong in a binary"},
}

// TestImportLattice fails for an import that the lattice does not have, and says what it is there for.
func TestImportLattice(t *testing.T) {
	t.Parallel()
	eachPackage(t, func(p goPackage) {
		if len(p.source()) == 0 {
			return
		}
		r, ok := ruleOf(p.path)
		if !ok {
			t.Errorf("%s: no rule says what it may import; add it to the lattice with the reason", p.path)
			return
		}
		for _, f := range p.source() {
			for _, name := range f.imports(t) {
				if reason := r.refuses(p, name); reason != "" {
					t.Errorf("%s imports %s: %s", f.path, name, reason)
				}
			}
		}
	})
}

// refuses returns why p may not import name, or "".
func (r rule) refuses(p goPackage, name string) string {
	for _, x := range reserved {
		if matches([]string{x.prefix + "/..."}, name) && !matches(x.homes, p.path) && (x.homes != nil || !p.forTests()) {
			return x.why
		}
	}
	if mine, ok := ours(name); ok {
		switch {
		case leaf(mine), matches(r.may, mine):
			return ""
		case strings.HasSuffix(mine, "test") && !p.forTests():
			return "a test harness does not belong in a binary"
		}
		return r.why
	}
	if matches(below(r.never), name) {
		return r.why
	}
	standard := !strings.Contains(strings.SplitN(name, "/", 2)[0], ".")
	if !standard && r.third != nil && !matches(below(r.third), name) {
		return "only the standard library and " + strings.Join(r.third, ", ") + " here: " + r.why
	}
	return ""
}

// ruleOf returns the first rule that matches a package.
func ruleOf(name string) (rule, bool) {
	i := slices.IndexFunc(lattice, func(r rule) bool { return matches(r.packages, name) })
	if i < 0 {
		return rule{}, false
	}
	return lattice[i], true
}

// leaf reports whether a package is one of those under internal/ that know no one and that everyone may import.
func leaf(name string) bool {
	r, ok := ruleOf(name)
	return ok && slices.Equal(r.packages, []string{"internal/..."})
}

// SQLite never links into a function, nor into what opens its store: it would be paid for at every cold start.
func TestFunctionsLinkNoSQLite(t *testing.T) {
	t.Parallel()
	packages, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	var reach func(name string, via []string)
	reach = func(name string, via []string) {
		for _, f := range packages[name].source() {
			for _, imported := range f.imports(t) {
				if strings.HasPrefix(imported, "modernc.org/sqlite") {
					t.Errorf("%s reaches %s", strings.Join(append(via, name), " -> "), imported)
				}
				if mine, ok := ours(imported); ok && !slices.Contains(via, name) {
					reach(mine, append(slices.Clone(via), name))
				}
			}
		}
	}
	for name := range packages {
		if strings.HasPrefix(name, "functions/") || name == "internal/boot/cloud" {
			reach(name, nil)
		}
	}
}

// No two rules allow each other, and each says why it is there.
func TestLatticeIsOneWay(t *testing.T) {
	t.Parallel()
	for i, r := range lattice {
		if r.why == "" {
			t.Errorf("rule %d has no reason", i)
		}
		for _, may := range r.may {
			for _, back := range lattice {
				if matches(back.packages, may) && !matches(r.packages, may) && slices.ContainsFunc(r.packages, func(p string) bool { return matches(back.may, p) }) {
					t.Errorf("%v and %s may import each other", r.packages, may)
				}
			}
		}
	}
}

// matches reports whether name is one of patterns or, for a pattern ending in "/...", is it or below it.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wide := strings.CutSuffix(pattern, "/...")
		return name == prefix || wide && strings.HasPrefix(name, prefix+"/")
	})
}

func below(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p + "/..."
	}
	return out
}

// The lattice itself refuses what it should: a table that allowed everything would pass TestImportLattice too.
func TestLatticeRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, imported string
		refused        bool
	}{
		{"pkg/kernel", module + "/pkg/kernel/store", false},
		{"pkg/kernel", module + "/internal/union", false},
		{"pkg/kernel", "context", false},
		{"pkg/kernel", "github.com/google/uuid", false},
		{"pkg/kernel", "net/http", true},
		{"pkg/kernel", "github.com/google/uuidv7", true},
		{"pkg/kernel", module + "/pkg/agent", true},
		{"pkg/kernel", module + "/pkg/kernel/kerneltest", true},
		{"pkg/kernel", "testing", true},
		{"pkg/kernel/object", "context", true},
		{"pkg/kernel/view", module + "/pkg/kernel", true},
		{"pkg/kernel/store/storetest", "testing", false},
		{"pkg/memstore", module + "/pkg/kernel", true},
		{"pkg/dynstore", module + "/pkg/s3objects", true},
		{"pkg/dynstore", "github.com/aws/aws-sdk-go-v2/service/dynamodb", false},
		{"pkg/sqlitestore", "github.com/aws/aws-sdk-go-v2/aws", true},
		{"pkg/memstore", "modernc.org/sqlite", true},
		{"pkg/agent", module + "/pkg/memstore", true},
		{"pkg/httpapi", module + "/pkg/sdk", true},
		{"pkg/client", module + "/pkg/api", false},
		{"pkg/sdk", module + "/internal/boot", true},
		{"cmd/stepwell", module + "/internal/boot", false},
		{"internal/lambdahttp", "github.com/aws/aws-lambda-go/events", false},
		{"internal/lambdahttp", "github.com/aws/aws-sdk-go-v2/aws", true},
		{"internal/lambdahttp", module + "/pkg/httpapi", true},
		{"internal/union", module + "/pkg/message", true},
	} {
		r, ok := ruleOf(test.from)
		if !ok {
			t.Fatalf("no rule for %s", test.from)
		}
		if reason := r.refuses(goPackage{path: test.from}, test.imported); (reason != "") != test.refused {
			t.Errorf("%s imports %s: refused %t for %q, want %t", test.from, test.imported, !test.refused, reason, test.refused)
		}
	}
}

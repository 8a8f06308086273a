package fetch_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell-dev/stepwell/pkg/tool/builtin/fetch"
)

// forbidden are addresses that nothing may be fetched from, whatever the allow-list says.
func forbidden() []string {
	return []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.254",
		"168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1",
		"192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8",
		"64:ff9b:1::a9fe:a9fe", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
		"2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "5f00::1",
	}
}

// TestB90_ResolvedAddresses proves that a harmless name does not lead anywhere that is not public, also when it has a
// public address beside the other.
func TestB90_ResolvedAddresses(t *testing.T) {
	mapped := []string{"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1"}
	for _, addr := range append(forbidden(), mapped...) {
		for _, answer := range [][]string{{addr}, {publicAddr, addr}, {addr, publicAddr}} {
			w := newWorld(t, hello)
			w.answer("evil.example", answer...)
			done := get(t, w.tool(t, nil), "http://evil.example/")
			wantRefused(t, done, `not allowed: the host "evil.example" has an address that is not on the public internet`)
			if len(w.dialled) != 0 {
				t.Fatalf("%v: dialled %v", answer, w.dialled)
			}
		}
	}
}

// TestPublicAddresses proves that the neighbours of what is forbidden can be reached.
func TestPublicAddresses(t *testing.T) {
	for _, addr := range []string{
		"1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
		"198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "2001:4860:4860::8888", "2606:4700::1111", "2a00::1",
	} {
		w := newWorld(t, hello)
		w.answer("fine.example", addr)
		if done := get(t, w.tool(t, nil), "http://fine.example/"); done.IsError {
			t.Errorf("%s: %s", addr, text(done))
		}
		want := netip.AddrPortFrom(netip.MustParseAddr(addr).Unmap(), 80).String()
		if diff := cmp.Diff([]string{want}, w.dialled); diff != "" {
			t.Errorf("dialled (-want +got):\n%s", diff)
		}
	}
}

// TestB90_LiteralAddresses is the same for addresses in the URL itself.
func TestB90_LiteralAddresses(t *testing.T) {
	w := newWorld(t, hello)
	x := w.tool(t, nil)
	for _, addr := range forbidden() {
		if strings.Contains(addr, ":") {
			addr = "[" + addr + "]"
		}
		wantRefused(t, get(t, x, "http://"+addr+"/latest/meta-data/"), "is not on the public internet")
	}
	if len(w.dialled)+len(w.lookups) != 0 {
		t.Fatalf("dialled %v, looked up %v", w.dialled, w.lookups)
	}
}

// TestB90_Spellings is the list of bypasses by spelling: none may get as far as the name service.
func TestB90_Spellings(t *testing.T) {
	w := newWorld(t, hello)
	x := w.tool(t, nil)
	for _, tc := range []struct{ url, want string }{
		{"http://2130706433/", "ends in a number"},
		{"http://017700000001/", "ends in a number"},
		{"http://0x7f000001/", "ends in a number"},
		{"http://0x7f.0.0.1/", "ends in a number"},
		{"http://0177.0.0.1/", "ends in a number"},
		{"http://127.0.0.01/", "ends in a number"},
		{"http://127.1/", "ends in a number"},
		{"http://127.0.1/", "ends in a number"},
		{"http://127.0.0.1.1/", "ends in a number"},
		{"http://127.0.0.0x1/", "ends in a number"},
		{"http://127.0.0.1./", "ends in a number"},
		{"http://2852039166/latest/meta-data/", "ends in a number"},
		{"http://[::ffff:169.254.169.254]/", "IPv4-mapped"},
		{"http://[::ffff:a9fe:a9fe]/", "IPv4-mapped"},
		{"http://[::ffff:8.8.8.8]/", "IPv4-mapped"},
		{"http://[fe80::1%25eth0]/", "zone"},
		{"http://①②⑦.⓪.⓪.①/", "use letters, digits and hyphens"},
		{"http://127。0。0。1/", "use letters, digits and hyphens"},
		{"http://exämple.com/", "use letters, digits and hyphens"},
		{"http://example..com/", "use letters, digits and hyphens"},
		{"http://" + strings.Repeat("a", 64) + ".com/", "use letters, digits and hyphens"},
		{"http://%31%32%37.0.0.1/", "is not a URL"},
		{"http://example.com%00.evil.example/", "is not a URL"},
		{"http://example.com\\@127.0.0.1/", "is not a URL"},
		{"http://user@example.com/", "a name or password"},
		{"http://example.com:80@127.0.0.1/", "a name or password"},
		{"http://:secret@example.com/", "a name or password"},
		{"ftp://example.com/", `the scheme "ftp"`},
		{"file:///etc/passwd", `the scheme "file"`},
		{"gopher://example.com/", `the scheme "gopher"`},
		{"data:text/plain,hi", `the scheme "data"`},
		{"//example.com/", `the scheme ""`},
		{"example.com", `the scheme ""`},
		{"http:example.com", "without a host"},
		{"http:///etc/passwd", "without a host"},
		{"http://example.com:22/", "the port 22"},
		{"http://example.com:0/", "the port 0"},
		{"http://example.com:65616/", "the port 65616"},
		{"http://example.com:8080/", "the port 8080"},
		{" http://example.com/", "is not a URL"},
		{"http://example.com/\r\nHost: evil", "is not a URL"},
	} {
		t.Run(tc.url, func(t *testing.T) { wantRefused(t, get(t, x, tc.url), tc.want) })
	}
	if len(w.dialled)+len(w.lookups) != 0 {
		t.Fatalf("dialled %v, looked up %v", w.dialled, w.lookups)
	}
}

// TestB90_Rebinding proves that the address that was checked is the one that is dialled: a second answer is never asked for.
func TestB90_Rebinding(t *testing.T) {
	w := newWorld(t, hello)
	w.answer("rebind.example", publicAddr)
	w.answer("rebind.example", "127.0.0.1")
	x := w.tool(t, nil)
	if done := get(t, x, "http://rebind.example/"); done.IsError {
		t.Fatal(text(done))
	}
	wantRefused(t, get(t, x, "http://rebind.example/"), "not on the public internet")
	if diff := cmp.Diff([]string{publicAddr + ":80"}, w.dialled); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ip rebind.example", "ip rebind.example"}, w.lookups); diff != "" {
		t.Errorf("looked up (-want +got):\n%s", diff)
	}
}

// TestB90_Redirects proves that every hop goes through both checks.
func TestB90_Redirects(t *testing.T) {
	for _, tc := range []struct{ to, want string }{
		{"http://169.254.169.254/latest/meta-data/", "not on the public internet"},
		{"http://[::ffff:169.254.169.254]/", "IPv4-mapped"},
		{"http://inside.example/", "not on the public internet"},
		{"http://0x7f.1/", "ends in a number"},
		{"http://user:pw@example.com/", "a name or password"},
		{"http://example.com:6379/", "the port 6379"},
		{"file:///etc/passwd", `the scheme "file"`},
		{"http://other.test/", `the host "other.test" is not on the list`},
	} {
		t.Run(tc.to, func(t *testing.T) {
			w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/start" {
					http.Redirect(w, r, "/second", http.StatusFound)
					return
				}
				http.Redirect(w, r, tc.to, http.StatusTemporaryRedirect)
			})
			w.answer("inside.example", "10.0.0.7")
			x := w.tool(t, func(o *fetch.Options) {
				o.Allow = []string{"example.com", "*.example", "169.254.169.254"}
			})
			wantRefused(t, get(t, x, "http://example.com/start"), tc.want)
			if diff := cmp.Diff([]string{publicAddr + ":80", publicAddr + ":80"}, w.dialled); diff != "" {
				t.Errorf("dialled (-want +got):\n%s", diff)
			}
		})
	}
}

// TestB90_RedirectRebinds proves that a name is checked anew on the hop that returns to it.
func TestB90_RedirectRebinds(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://rebind.example/again", http.StatusFound)
	})
	w.answer("rebind.example", publicAddr)
	w.answer("rebind.example", "::1")
	wantRefused(t, get(t, w.tool(t, nil), "http://rebind.example/"), "not on the public internet")
	if len(w.dialled) != 1 {
		t.Errorf("dialled %v", w.dialled)
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	w := newWorld(t, hello)
	if done := get(t, w.tool(t, nil), "http://example.com/"); done.IsError {
		t.Fatal(text(done))
	}
	if diff := cmp.Diff([]string{publicAddr + ":80"}, w.dialled); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}

func TestAllowLoopback(t *testing.T) {
	w := newWorld(t, hello)
	x := w.tool(t, func(o *fetch.Options) {
		o.AllowLoopback = true
		o.Ports = []uint16{8080}
	})
	for _, url := range []string{"http://127.0.0.1:8080/", "http://[::1]/"} {
		if done := get(t, x, url); done.IsError {
			t.Errorf("%s: %s", url, text(done))
		}
	}
	for _, url := range []string{"http://10.0.0.1/", "http://169.254.169.254/", "http://0.0.0.0/", "http://127.0.0.1:8081/"} {
		if done := get(t, x, url); !done.IsError {
			t.Errorf("%s: %s", url, text(done))
		}
	}
}

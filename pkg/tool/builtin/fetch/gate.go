package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A refusal says why a URL may not be fetched. Its text is for the model.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "not allowed: " + r.reason }

func refusedf(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// A gate decides by the text of a URL.
type gate struct {
	hosts []string // lower case
	ports []uint16
}

// parseAllow returns the patterns in lower case.
func parseAllow(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, errors.New(`fetch: allow is empty; name hosts, or "*" for all`)
	}
	hosts := make([]string, len(patterns))
	for i, p := range patterns {
		hosts[i] = strings.ToLower(p)
		name := strings.TrimPrefix(hosts[i], "*.")
		if hosts[i] == "*" {
			continue
		}
		if _, err := parseHost(name); err != nil || strings.HasSuffix(name, ".") {
			return nil, fmt.Errorf("fetch: allow[%d] %q is not a host; use example.com, *.example.com or *", i, p)
		}
	}
	return hosts, nil
}

// check reports why u may not be fetched, or nil.
func (g gate) check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refusedf("the scheme %q; use http or https", u.Scheme)
	case u.User != nil:
		return refusedf("a name or password in the URL")
	case u.Opaque != "" || u.Host == "":
		return refusedf("a URL without a host")
	}
	host, err := parseHost(u.Hostname())
	if err != nil {
		return err
	}
	if !g.allows(host) {
		return refusedf("the host %q is not on the list of hosts that may be fetched", host)
	}
	return g.checkPort(u.Port())
}

func (g gate) checkPort(text string) error {
	if text == "" {
		return nil // the scheme's own: 80 or 443
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port != 80 && port != 443 && !slices.Contains(g.ports, uint16(port)) {
		return refusedf("the port %s", text)
	}
	return nil
}

func (g gate) allows(host string) bool {
	return slices.ContainsFunc(g.hosts, func(pattern string) bool {
		parent, below := strings.CutPrefix(pattern, "*")
		switch {
		case pattern == "*":
			return true
		case below:
			return strings.HasSuffix(host, parent) && len(host) > len(parent)
		}
		return host == pattern
	})
}

// parseHost returns host in the one spelling that is compared: lower case and without the dot of the root. It refuses
// spellings that a resolver might read differently from the allow-list: letters that are not ASCII, zones, and the octal,
// hexadecimal, decimal and shortened forms of IPv4 addresses.
func parseHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		switch {
		case addr.Zone() != "":
			return "", refusedf("the address %q with a zone", host)
		case addr.Is4In6():
			return "", refusedf("the IPv4-mapped address %q; write it as IPv4", host)
		}
		return addr.String(), nil
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !plainLabels(name) {
		return "", refusedf("the host %q; use letters, digits and hyphens, and punycode for others", host)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", refusedf("the host %q ends in a number and is not an IPv4 address of four decimal parts", host)
	}
	return name, nil
}

func plainLabels(name string) bool {
	const maxName, maxLabel = 253, 63
	if len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

package fetch

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// A guard connects to public addresses only.
type guard struct {
	resolver      Resolver
	dial          DialFunc
	allowLoopback bool
}

// dialContext connects to address, a host and a port. What is dialled is an address that was checked, not the host, so
// there is no second look-up that could answer differently.
func (g guard) dialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the address: %w", err)
	}
	if host, err = parseHost(host); err != nil {
		return nil, err
	}
	addrs, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error
	for _, addr := range addrs {
		conn, err := g.dial(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, fmt.Errorf("connecting to %s: %w", host, last)
}

// addresses returns the addresses of host. One that is not public refuses them all: an honest name has no such company.
func (g guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	var addrs []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{addr}
	} else {
		found, err := g.resolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("resolving %s: %w", host, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("resolving %s: it has no address", host)
		}
		for _, addr := range found {
			addrs = append(addrs, addr.Unmap()) // resolvers may give IPv4 in its mapped form
		}
	}
	for _, addr := range addrs {
		if !g.permits(addr) {
			return nil, refusedf("the host %q has an address that is not on the public internet", host)
		}
	}
	return addrs, nil
}

func (g guard) permits(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	if addr.IsLoopback() {
		return g.allowLoopback
	}
	return public(addr)
}

// public reports whether addr is an ordinary address of the public internet. For IPv6 that is a positive list, 2000::/3,
// which leaves out mapped, translated (NAT64), unique local, link-local and multicast addresses, those of the future too.
func public(addr netip.Addr) bool {
	if addr.Is6() && !netip.MustParsePrefix("2000::/3").Contains(addr) {
		return false
	}
	for _, text := range reserved() {
		if netip.MustParsePrefix(text).Contains(addr) {
			return false
		}
	}
	return true
}

// reserved lists what IANA's special-purpose registries set apart, and two addresses that clouds use for themselves.
func reserved() []string {
	return []string{
		"0.0.0.0/8",         // this network
		"10.0.0.0/8",        // private
		"100.64.0.0/10",     // carrier-grade NAT, and a cloud's metadata at 100.100.100.200
		"127.0.0.0/8",       // loopback
		"168.63.129.16/32",  // a cloud's host agent
		"169.254.0.0/16",    // link-local, and most clouds' metadata at 169.254.169.254
		"172.16.0.0/12",     // private
		"192.0.0.0/24",      // protocol assignments, and a cloud's metadata at 192.0.0.192
		"192.0.2.0/24",      // documentation
		"192.88.99.0/24",    // 6to4 relays
		"192.168.0.0/16",    // private
		"198.18.0.0/15",     // benchmarks
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/4",       // multicast
		"240.0.0.0/4",       // reserved, and the broadcast address
		"2001::/23",         // protocol assignments, Teredo among them, which holds an IPv4 address
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4, which holds an IPv4 address
		"3fff::/20",         // documentation
		"2620:4f:8000::/48", // local name service
	}
}

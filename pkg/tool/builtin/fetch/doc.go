// Package fetch holds the tool "fetch": an HTTP GET that a model may aim, within what the host allows.
//
// A model's URL is an attacker's URL, since a page it has read may have told it what to ask for. Two checks stand in the
// way, and both run again on every redirect. The first is on the URL's text: scheme, credentials, port, and the host
// against the allow-list. The second is on the addresses: the name is resolved once, every address it has must be public,
// and the connection goes to one of exactly those addresses, so that a name which answers differently the next time gains
// nothing. Proxies of the environment are not used, because they would connect unchecked.
package fetch

package lambdahttp

import (
	"net/http"
	"strings"
)

// An answer collects the status and header of a response, as both writers need them.
type answer struct {
	method string
	header http.Header
	status int         // 0: none yet
	sent   http.Header // as it was when the status was set
}

func newAnswer(method string) answer { return answer{method: method, header: http.Header{}} }

// Header returns the header to change before the status is set.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader sets the status. Only the first one counts, and those that are only informational do not.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status, a.sent = status, a.header.Clone()
}

// hasBody reports whether the response may have a body.
func (a *answer) hasBody() bool {
	return a.method != http.MethodHead && a.status != http.StatusNoContent && a.status != http.StatusNotModified
}

// sniff sets the content type from the first bytes of the body, as the server of net/http does.
func (a *answer) sniff(first []byte) {
	if len(first) > 0 && a.sent.Get("Content-Type") == "" && a.sent.Get("Content-Encoding") == "" {
		a.sent.Set("Content-Type", http.DetectContentType(first))
	}
}

// fields returns the header as payload format 2.0 has it: one value a name, and cookies apart. What describes a connection that the gateway makes
// anew is its own business.
func (a *answer) fields() (header map[string]string, cookies []string) {
	header = make(map[string]string, len(a.sent))
	for name, values := range a.sent {
		switch name {
		case "Set-Cookie":
			cookies = values
		case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer", "Upgrade":
		default:
			header[name] = strings.Join(values, ", ")
		}
	}
	return header, cookies
}

package wake

import (
	"crypto/sha256"
	"encoding/base32"
)

// scheduleName is the same for every deadline of a head: a run has one at a time.
func scheduleName(m Message) string {
	sum := sha256.Sum256([]byte(m.Tenant + "\x00" + string(m.Session) + "\x00" + m.Head))
	return "head-" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:48]
}

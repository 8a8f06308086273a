package cloud

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Scheme starts the text of a [Location].
const Scheme = "dynamodb://"

// DefaultTenant has the sessions of a store that names no tenant.
const DefaultTenant = "default"

// maxTenant is how many bytes the name of a tenant may have.
const maxTenant = 128

const (
	tableRule  = "3 to 255 letters, digits, dots, hyphens and underscores"
	bucketRule = "3 to 63 small letters, digits, dots and hyphens"
)

// A Location says where a store in the cloud is.
type Location struct {
	Table  string // the DynamoDB table
	Bucket string // the S3 bucket with the large bodies
	Tenant string // whose sessions these are
}

// IsLocation reports whether text means a store in the cloud rather than a file.
func IsLocation(text string) bool { return strings.HasPrefix(text, Scheme) }

// ParseLocation reads dynamodb://TABLE?bucket=BUCKET&tenant=TENANT. The tenant may be left out.
func ParseLocation(text string) (Location, error) {
	u, err := url.Parse(text)
	if err != nil || !IsLocation(text) || u.User != nil || u.Path != "" || u.Fragment != "" {
		return Location{}, errors.New("is no location; want dynamodb://TABLE?bucket=BUCKET&tenant=TENANT")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, fmt.Errorf("has a malformed query: %w", err)
	}
	for name, values := range query {
		if name != "bucket" && name != "tenant" {
			return Location{}, fmt.Errorf("has the parameter %q; want bucket, and tenant if it is not %s", name, DefaultTenant)
		}
		if len(values) != 1 {
			return Location{}, fmt.Errorf("has the parameter %q %d times", name, len(values))
		}
	}
	l := Location{Table: u.Host, Bucket: query.Get("bucket"), Tenant: query.Get("tenant")}
	if l.Tenant == "" {
		l.Tenant = DefaultTenant
	}
	return l, l.validate()
}

// String returns the text that [ParseLocation] reads.
func (l Location) String() string {
	text := Scheme + l.Table + "?bucket=" + l.Bucket
	if l.Tenant != "" && l.Tenant != DefaultTenant {
		text += "&tenant=" + url.QueryEscape(l.Tenant)
	}
	return text
}

func (l Location) validate() error {
	switch {
	case l.Table == "":
		return fmt.Errorf("names no table; want %s", tableRule)
	case !spelled(l.Table, 255, "_.-", true):
		return fmt.Errorf("has the table %q; want %s", l.Table, tableRule)
	case l.Bucket == "":
		return fmt.Errorf("names no bucket; want %s", bucketRule)
	case !spelled(l.Bucket, 63, ".-", false) || strings.Trim(l.Bucket, ".-") != l.Bucket:
		return fmt.Errorf("has the bucket %q; want %s", l.Bucket, bucketRule)
	case len(l.Tenant) > maxTenant:
		return fmt.Errorf("has a tenant of %d bytes; want at most %d", len(l.Tenant), maxTenant)
	}
	return nil
}

// spelled reports whether a name has 3 to most bytes, each a digit, a letter, a small one unless capitals may be, or one of marks. A regular
// expression with such a count takes a function half a millisecond to compile.
func spelled(name string, most int, marks string, capitals bool) bool {
	return 3 <= len(name) && len(name) <= most && !strings.ContainsFunc(name, func(r rune) bool {
		small, digit := 'a' <= r && r <= 'z', '0' <= r && r <= '9'
		return !small && !digit && (!capitals || r < 'A' || r > 'Z') && !strings.ContainsRune(marks, r)
	})
}

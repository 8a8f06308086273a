package api_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
)

// No operation encodes a wall-clock execution budget (invariant 23): hosts own those. The one span of time is a collection's grace, which is
// about the past.
func TestNoOperationHasABudget(t *testing.T) {
	service := reflect.TypeFor[api.Service]()
	operations := 0
	for i := range service.NumMethod() {
		m := service.Method(i)
		for j := range m.Type.NumIn() {
			options := m.Type.In(j)
			if options.Kind() != reflect.Struct {
				continue
			}
			operations++
			for k := range options.NumField() {
				f := options.Field(k)
				name := strings.ToLower(f.Name)
				budget := f.Type == reflect.TypeFor[time.Duration]() || f.Type == reflect.TypeFor[time.Time]()
				for _, word := range []string{"timeout", "deadline", "budget", "limitms", "ttl"} {
					budget = budget || strings.Contains(name, word)
				}
				if budget {
					t.Errorf("%s takes %s.%s", m.Name, options.Name(), f.Name)
				}
			}
		}
	}
	if operations < 30 {
		t.Errorf("only %d operations take options: this test looks in the wrong place", operations)
	}
}

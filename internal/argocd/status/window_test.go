package status

import (
	"strings"
	"testing"
	"time"
)

func TestForbids(t *testing.T) {
	// A Thursday.
	now := time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)
	all := []string{"*"}
	for name, tc := range map[string]struct {
		windows []Window
		want    string
	}{
		"none":                       {nil, ""},
		"denied now":                 {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: all}}, "forbids automated sync (0 12 * * * for 1h)"},
		"denied earlier":             {[]Window{{Kind: "deny", Schedule: "0 11 * * *", Duration: "1h", Applications: all}}, ""},
		"denied for others":          {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: []string{"x*"}}}, ""},
		"allowed now":                {[]Window{{Kind: "allow", Schedule: "0 12 * * *", Duration: "1h", Namespaces: []string{"sh*"}}}, ""},
		"allowed later":              {[]Window{{Kind: "allow", Schedule: "0 13 * * *", Duration: "1h", Applications: all}}, "only in its windows (0 13"},
		"one of two allows":          {[]Window{{Kind: "allow", Schedule: "0 13 * * *", Duration: "1h", Applications: all}, {Kind: "allow", Schedule: "0 12 * * *", Duration: "1h", Applications: all}}, ""},
		"denied and allowed":         {[]Window{{Kind: "allow", Schedule: "0 12 * * *", Duration: "1h", Applications: all}, {Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Clusters: all}}, "forbids"},
		"another time zone":          {[]Window{{Kind: "deny", Schedule: "0 21 * * *", Duration: "1h", Applications: all, TimeZone: "Asia/Tokyo"}}, "forbids"},
		"and, both":                  {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: all, Namespaces: []string{"shop"}, AndOperator: true}}, "forbids"},
		"and, only the first":        {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: all, Namespaces: []string{"other"}, AndOperator: true}}, ""},
		"and, only the last":         {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h", Applications: []string{"x"}, Namespaces: []string{"shop"}, AndOperator: true}}, ""},
		"about nothing":              {[]Window{{Kind: "deny", Schedule: "0 12 * * *", Duration: "1h"}}, ""},
		"a schedule that is no such": {[]Window{{Kind: "deny", Schedule: "noon", Duration: "1h", Applications: all}}, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Project{Ref: Ref{"argocd", "default"}, Windows: tc.windows}
			got := p.Forbids(parsedObject(t, "single.yaml", ""), now)
			if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

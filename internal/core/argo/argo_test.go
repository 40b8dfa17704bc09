package argo

import "testing"

func TestStepMatches(t *testing.T) {
	in := Expression{Key: "env", Operator: "In", Values: []string{"dev", "test"}}
	notIn := Expression{Key: "env", Operator: "NotIn", Values: []string{"prod"}}
	unknown := Expression{Key: "env", Operator: "Exists"}
	for name, test := range map[string]struct {
		expressions []Expression
		labels      map[string]string
		want        bool
	}{
		"no expressions match everything":       {labels: map[string]string{"env": "dev"}, want: true},
		"no expressions match no labels":        {want: true},
		"in":                                    {[]Expression{in}, map[string]string{"env": "test"}, true},
		"in with another value":                 {[]Expression{in}, map[string]string{"env": "prod"}, false},
		"in without the key":                    {[]Expression{in}, nil, false},
		"not in":                                {[]Expression{notIn}, map[string]string{"env": "dev"}, true},
		"not in with the value":                 {[]Expression{notIn}, map[string]string{"env": "prod"}, false},
		"not in without the key":                {[]Expression{notIn}, nil, true},
		"all must hold":                         {[]Expression{notIn, in}, map[string]string{"env": "stage"}, false},
		"an operator that is not known":         {[]Expression{unknown}, map[string]string{"env": "dev"}, false},
		"an unknown operator and a missing key": {[]Expression{unknown}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Step{MatchExpressions: test.expressions}).Matches(test.labels); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

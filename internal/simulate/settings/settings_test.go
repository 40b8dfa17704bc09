package settings

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"": {}, "never-ready": {Kind: NeverReady}, "crash": {Kind: Crash}, "flap": {Kind: Flap},
		"slow:5m": {Kind: Slow, Extra: 5 * time.Minute}, " flap ": {Kind: Flap},
	} {
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("ParseFault(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"slow", "slow:", "slow:-1s", "slow:0s", "slow:soon", "crash:1", "down"} {
		if got, err := ParseFault(text); err == nil {
			t.Errorf("ParseFault(%q) = %v, want an error", text, got)
		}
	}
}

func TestConfigTravels(t *testing.T) {
	want := Config{
		Speed: 30, Seed: 7,
		Components: map[string]Component{
			"a": {Delay: time.Minute, Fault: Fault{Kind: Slow, Extra: 5 * time.Minute}},
			"b": {Checks: []model.Check{{Kind: model.CheckSecret, Name: "db", Keys: []string{"password"}, Timeout: time.Second}}},
		},
		Rules: []Rules{{Name: "own.yaml", Text: "x: y"}},
	}
	cm, err := want.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse([]byte(cm.Data[Key]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", `{"speed":-1}`, `{"components":{"a":{"fault":"down"}}}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) accepts it", text)
		}
	}
}

func TestDelay(t *testing.T) {
	c := Config{Seed: 1, Components: map[string]Component{"slow": {Delay: time.Minute, Fault: Fault{Kind: Slow, Extra: time.Minute}}}}
	got := c.Delay("slow", "key")
	if got < 108*time.Second || got > 132*time.Second {
		t.Errorf("2 minutes, spread by a tenth, take %s", got)
	}
	if again := c.Delay("slow", "key"); again != got {
		t.Errorf("the same seed and key give %s, then %s", got, again)
	}
	c.Seed = 2
	if other := c.Delay("slow", "key"); other == got {
		t.Error("another seed gives the same spread")
	}
	if d := (Config{}).Delay("unknown", ""); d < 9*time.Second || d > 11*time.Second {
		t.Errorf("what belongs to no component takes %s", d)
	}
}

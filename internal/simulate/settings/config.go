package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Where the configuration lives on the plane.
const (
	Namespace = "ladder-system"
	Name      = "simulation"
	Key       = "config.json"
)

// ClusterProvisioner makes the volumes of the StorageClasses that the cluster comes with.
const ClusterProvisioner = "cluster-storage.ladder.rollout-ladder.dev"

// Defaults of a Config that leaves the field zero.
const (
	DefaultSpeed = 60.0
	// DefaultJitter spreads readiness times by a tenth.
	DefaultJitter = 0.1
	// DefaultDelay is the readiness time of what belongs to no component.
	DefaultDelay = 10 * time.Second
)

// Config is what a rehearsal tells the simulated world.
type Config struct {
	// Speed is how many times as fast as the real time simulated time goes, where
	// nobody moves it; 0 means DefaultSpeed.
	Speed float64 `json:"speed,omitempty"`
	// Seed spreads readiness times and makes generated values; the same seed
	// gives the same ones.
	Seed int64 `json:"seed,omitempty"`
	// Jitter is the fraction by which readiness times are spread around what is
	// expected, between 0 and 1; nil means DefaultJitter.
	Jitter *float64 `json:"jitter,omitempty"`
	// Components by name.
	Components map[string]Component `json:"components,omitempty"`
	// Rules are further rule documents, YAML; they come before the embedded
	// ones.
	Rules []Rules `json:"rules,omitempty"`
}

// Rules is one rule document.
type Rules struct {
	// Name is the file it was read from.
	Name string `json:"name"`
	Text string `json:"text"`
}

// Component is how one component behaves.
type Component struct {
	// Delay is the simulated time from the start of its work to ready. JSON
	// carries nanoseconds.
	Delay time.Duration `json:"delay,omitempty"`
	Fault Fault         `json:"fault,omitzero"`
	// Checks are what the component's Jobs check before they complete.
	Checks []model.Check `json:"checks,omitempty"`
}

// Parse reads a Config from the JSON of ConfigMap.
func Parse(text []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(text, &c); err != nil {
		return Config{}, fmt.Errorf("parse the simulation's configuration: %w", err)
	}
	if c.Speed < 0 {
		return Config{}, fmt.Errorf("parse the simulation's configuration: speed %v is below zero", c.Speed)
	}
	if c.Jitter != nil && (*c.Jitter < 0 || *c.Jitter > 1) {
		return Config{}, fmt.Errorf("parse the simulation's configuration: jitter %v is not between 0 and 1", *c.Jitter)
	}
	return c, nil
}

// ConfigMap returns the object that carries the configuration. Its namespace is
// the caller's to make.
func (c Config) ConfigMap() (*corev1.ConfigMap, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write the simulation's configuration: %w", err)
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Data:       map[string]string{Key: string(text)},
	}, nil
}

// Rate is the speed, or the default.
func (c Config) Rate() float64 { return cmp.Or(c.Speed, DefaultSpeed) }

// Delay is the readiness time of one thing of a component, spread around
// the component's own by the seed and the thing's key.
func (c Config) Delay(name, key string) time.Duration {
	delay := DefaultDelay
	if comp, ok := c.Components[name]; ok {
		delay = comp.Delay + comp.Fault.Extra
	}
	return time.Duration(float64(delay) * c.Spread(key))
}

// Spread is a factor around 1, by at most Jitter, that depends on the seed and
// the key.
func (c Config) Spread(key string) float64 {
	jitter := DefaultJitter
	if c.Jitter != nil {
		jitter = *c.Jitter
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", c.Seed, key)
	return 1 - jitter + 2*jitter*float64(h.Sum64()%10_000)/10_000
}

// Fault is the fault of a component.
func (c Config) Fault(name string) Fault { return c.Components[name].Fault }

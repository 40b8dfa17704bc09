package incluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-ladder/ladder/internal/store"
)

var acme = Key{Platform: "acme", Environment: "dev"}

// hold opens the state of acme; crash ends it as a killed process ends.
func hold(t testing.TB, c *Cluster) (s *Store, crash func()) {
	t.Helper()
	s, err := Open(t.Context(), c, acme, Options{Owner: "test", Lost: func(error) {}})
	must(t, err)
	s.pace = 0
	return s, func() { s.lease.stop(); <-s.lease.done; s.stop(errCrash) }
}

// expire lets the lease of a crashed holder end.
func (s *server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		l.Spec.HolderIdentity = ptr.To("")
		l.ResourceVersion = s.next()
	}
}

func records(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, s := range texts {
		out = append(out, json.RawMessage(s))
	}
	return out
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	server := newServer()
	s, _ := hold(t, server.cluster())
	saved, err := s.Load()
	must(t, err)
	if diff := cmp.Diff(store.Saved{}, saved); diff != "" {
		t.Errorf("an empty cluster holds something: %s", diff)
	}
	if s.Append(records(`1`)...) == nil {
		t.Error("appended without a snapshot")
	}
	must(t, s.Snapshot(json.RawMessage(`{"n": 0}`)))
	must(t, s.Append(records(`{"n": 1}`, "{\n\"n\": 2}")...))
	must(t, s.Append(records(`3`)...))
	must(t, s.Close())

	s, _ = hold(t, server.cluster())
	saved, err = s.Load()
	must(t, err)
	if diff := cmp.Diff(store.Saved{Snapshot: json.RawMessage(`{"n":0}`), Records: records(`{"n":1}`, `{"n":2}`, `3`)}, saved); diff != "" {
		t.Error(diff)
	}
	must(t, s.Append(records(`4`)...))
	must(t, s.Snapshot(json.RawMessage(`"new"`)))
	must(t, s.Append(records(`5`)...))
	must(t, s.Close())
	saved, found, err := server.cluster().Read(t.Context(), acme)
	must(t, err)
	if diff := cmp.Diff(store.Saved{Snapshot: json.RawMessage(`"new"`), Records: records(`5`)}, saved); diff != "" || !found {
		t.Errorf("found %t: %s", found, diff)
	}
	if n := len(server.maps); n != 3 {
		t.Errorf("%d ConfigMaps are left, want head, snapshot and one part of the journal", n)
	}
}

// Whatever the sequence of writes, faults and kills: what is loaded is what was
// acknowledged last, or what was being written then.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { live(t, seed) })
	}
}

// live lets runs follow each other, each until it is killed.
func live(t *testing.T, seed uint64) {
	server := newServer()
	random := rand.New(rand.NewPCG(seed, 1))
	killed := false
	server.fault = func() (error, bool) {
		switch after := random.IntN(2) == 0; {
		case killed:
			return errCrash, false
		case random.IntN(12) == 0:
			killed = true
			return errCrash, after
		case random.IntN(8) == 0:
			return unavailable(), after // is repeated
		default:
			return nil, false
		}
	}
	var acknowledged, attempted []string // the state as a list of numbers
	number := 0
	for range 4 { // lives
		killed = false
		server.expire()
		// The start of a life is no subject of this test.
		fault := server.fault
		server.fault = nil
		s, crash := hold(t, server.cluster())
		saved, err := s.Load()
		must(t, err)
		server.fault = fault
		got := restored(t, saved)
		if !slices.Equal(got, acknowledged) && !slices.Equal(got, attempted) {
			t.Fatalf("seed %d: loaded %v, want %v or %v", seed, got, acknowledged, attempted)
		}
		acknowledged, attempted = got, got
		for step := 0; !killed && step < 30; step++ {
			number++
			attempted = append(slices.Clone(acknowledged), fmt.Sprint(number))
			if step == 0 || random.IntN(6) == 0 {
				attempted = attempted[max(0, len(attempted)-20):]
				text, err := json.Marshal(attempted)
				must(t, err)
				err = s.Snapshot(text)
				if err != nil {
					break
				}
			} else if s.Append(record(random, number)) != nil {
				break
			}
			acknowledged = attempted
		}
		crash()
	}
}

// record is a number, now and then with so much beside it that it fills parts
// of the journal, and needs several.
func record(random *rand.Rand, number int) json.RawMessage {
	r := map[string]any{"n": fmt.Sprint(number)}
	size := 0
	switch random.IntN(40) {
	case 0:
		size = 60 << 10
	case 1:
		size = 370 << 10
	}
	junk := make([]byte, size)
	for i := range junk {
		junk[i] = byte(random.IntN(256))
	}
	r["junk"] = junk
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return text
}

func restored(t testing.TB, saved store.Saved) []string {
	if saved.Snapshot == nil {
		return nil
	}
	var state []string
	must(t, json.Unmarshal(saved.Snapshot, &state))
	for _, text := range saved.Records {
		var r struct{ N string }
		must(t, json.Unmarshal(text, &r))
		state = append(state, r.N)
	}
	return state
}

func TestNothingIsTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("saves megabytes, again and again")
	}
	server := newServer()
	s, _ := hold(t, server.cluster())
	random := rand.New(rand.NewPCG(1, 1))
	junk := make([]byte, 3<<20)
	for i := range junk {
		junk[i] = byte(random.IntN(256))
	}
	state, err := json.Marshal([]string{string(fmt.Appendf(nil, "%x", junk))})
	must(t, err)
	must(t, s.Snapshot(state))
	for i := range 60 {
		must(t, s.Append(record(random, i)))
	}
	for name, cm := range server.maps {
		size := 0
		for _, data := range cm.BinaryData {
			size += (len(data) + 2) / 3 * 4
		}
		if size >= 512<<10 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	saved, _, err := server.cluster().Read(t.Context(), acme)
	must(t, err)
	if string(saved.Snapshot) != string(state) || len(saved.Records) != 60 {
		t.Errorf("loaded %d bytes and %d records", len(saved.Snapshot), len(saved.Records))
	}
}

func TestDamageIsNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(*server)
		want   string
	}{
		"snapshot is gone":    {func(s *server) { s.drop("-s0") }, "part 0 of the snapshot is missing"},
		"snapshot differs":    {func(s *server) { s.find("-s0").BinaryData[keyPart][12] ^= 1 }, "the checksum of the snapshot differs"},
		"journal is gone":     {func(s *server) { s.drop("-j0") }, "part 0 of the journal is missing"},
		"an append is gone":   {func(s *server) { delete(s.find("-j0").BinaryData, piece{append: 1, of: 1}.String()) }, "append 1 of the journal is missing"},
		"an append differs":   {func(s *server) { s.find("-j0").BinaryData[piece{append: 1, of: 1}.String()][12] ^= 1 }, "append 1 of the journal"},
		"a strange entry":     {func(s *server) { s.find("-j0").BinaryData["0"] = nil }, `the journal has an entry "0"`},
		"another version":     {func(s *server) { s.maps[acme.base()].Data[keyHead] = `{"formatVersion":"2"}` }, `format version "2"`},
		"the head is no JSON": {func(s *server) { s.maps[acme.base()].Data[keyHead] = `{` }, "read state ladder-system/ladder-rollout-acme-dev"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer()
			s, _ := hold(t, server.cluster())
			must(t, s.Snapshot(json.RawMessage(`"a state that is long enough"`)))
			must(t, s.Append(records(`"one"`)...))
			must(t, s.Append(records(`"two"`)...))
			tc.damage(server)
			if _, _, err := server.cluster().Read(t.Context(), acme); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}

func (s *server) find(suffix string) *corev1.ConfigMap {
	for n, o := range s.maps {
		if strings.HasSuffix(n, suffix) {
			return o
		}
	}
	return nil
}

func (s *server) drop(suffix string) { delete(s.maps, s.find(suffix).Name) }

func TestSecondRunIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s, _ := hold(t, server.cluster())
		_, err := Open(t.Context(), server.cluster(), acme, Options{Owner: "other", Lost: func(error) {}})
		var locked *store.LockedError
		if !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() {
			t.Fatalf("error = %v, want a LockedError that names process %d", err, os.Getpid())
		}
		for _, part := range []string{"acme/dev on https://memory", fmt.Sprint(os.Getpid()), "(test)", "the lock ends at"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("message %q lacks %q", err, part)
			}
		}
		other, err := Open(t.Context(), server.cluster(), Key{"acme", "prod"}, Options{Owner: "other", Lost: func(error) {}})
		must(t, err)
		must(t, other.Close())
		must(t, s.Close())
		s, _ = hold(t, server.cluster())
		must(t, s.Close())
	})
}

// A holder that another machine does not hear of any more keeps the lease until
// it ends, and a run that was taken over writes nothing more.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		near := server.cluster()
		link := &cutLeases{leases: near.leases}
		near.leases = link
		lost := make(chan error, 1)
		s, err := Open(t.Context(), near, acme, Options{Owner: "first", Lost: func(err error) { lost <- err }})
		must(t, err)
		must(t, s.Snapshot(json.RawMessage(`0`)))
		time.Sleep(time.Minute) // it is renewed
		if _, err := Open(t.Context(), server.cluster(), acme, Options{Owner: "second", Lost: func(error) {}}); err == nil {
			t.Fatal("a lease that is renewed was taken")
		}
		link.cut.Store(true)
		elsewhere(server)
		time.Sleep(2 * leaseDuration)
		far := server.cluster()
		second, err := Open(t.Context(), far, acme, Options{Owner: "second", Lost: func(error) {}})
		must(t, err)
		must(t, second.Snapshot(json.RawMessage(`1`)))
		link.cut.Store(false)
		if err := s.Append(records(`"late"`)...); err == nil {
			t.Error("a run that was taken over has written")
		}
		var gone *LeaseLostError
		if err := <-lost; !errors.As(err, &gone) || gone.Holder.Owner != "second" {
			t.Errorf("error = %v, want one that names the second run", err)
		}
		saved, _, err := far.Read(t.Context(), acme)
		must(t, err)
		if string(saved.Snapshot) != `1` || len(saved.Records) != 0 {
			t.Errorf("saved: %s and %d records", saved.Snapshot, len(saved.Records))
		}
		must(t, s.Close())
		must(t, second.Close())
	})
}

// cutLeases loses the API server while it is cut.
type cutLeases struct {
	leases
	cut atomic.Bool
}

func (l *cutLeases) Update(ctx context.Context, o *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.cut.Load() {
		return nil, unavailable()
	}
	return l.leases.Update(ctx, o, options)
}

// elsewhere makes the holder of the lease a process of another machine.
func elsewhere(s *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leases {
		var h holder
		_ = json.Unmarshal([]byte(l.Annotations[annotationHolder]), &h)
		h.Machine = "another"
		text, _ := json.Marshal(h)
		l.Annotations[annotationHolder] = string(text)
	}
}

// An API server that is away for a while holds the run up, and ends nothing.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		s, err := Open(t.Context(), server.cluster(), acme, Options{Owner: "test", Lost: func(err error) { t.Errorf("lost: %v", err) }})
		must(t, err)
		must(t, s.Snapshot(json.RawMessage(`0`)))
		began := time.Now()
		server.fault = func() (error, bool) {
			if time.Since(began) < time.Minute {
				return unavailable(), false
			}
			return nil, false
		}
		must(t, s.Append(records(`1`)...))
		if d := time.Since(began); d < time.Minute || d > time.Minute+5*time.Second {
			t.Errorf("appended after %s", d)
		}
		must(t, s.Close())
	})
}

// What waits is written together, and a run that has ended gives up soon.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		ctx, cancel := context.WithCancel(t.Context())
		s, err := Open(ctx, server.cluster(), acme, Options{Owner: "test", Lost: func(error) {}})
		must(t, err)
		must(t, s.Snapshot(json.RawMessage(`0`)))
		began := time.Now()
		for range 100 {
			must(t, s.Append(records(`1`)...))
		}
		if d := time.Since(began); d != 100*pace {
			t.Errorf("100 appends took %s, want %s", d, 100*pace)
		}
		server.fault = func() (error, bool) { return unavailable(), false }
		cancel()
		began = time.Now()
		if s.Append(records(`2`)...) == nil {
			t.Error("an API server that is away has saved something")
		}
		if d := time.Since(began); d > lastPatience+time.Second {
			t.Errorf("it gave up after %s", d)
		}
		must(t, s.Close())
	})
}

func TestNames(t *testing.T) {
	seen := map[string]Key{}
	for _, k := range []Key{
		{"acme", "dev"}, {"acme-dev", "x"}, {"acme", "dev-x"}, {"Acme", "dev"}, {"acme.", "dev"}, {"", ""}, {"ä", "ö"},
		{strings.Repeat("long-", 30), "dev"}, {strings.Repeat("long-", 31), "dev"},
	} {
		name := k.Name()
		if other, twice := seen[name]; twice {
			t.Errorf("%v and %v are both %s", k, other, name)
		}
		seen[name] = k
		if len(name) > longestName || unfit.MatchString(name) || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
			t.Errorf("%v is %q", k, name)
		}
	}
	if acme.Name() != "acme-dev" {
		t.Errorf("a plain name is %s", acme.Name())
	}
}

func TestHistoryIsBounded(t *testing.T) {
	server := newServer()
	s, _ := hold(t, server.cluster())
	other, err := Open(t.Context(), server.cluster(), Key{"other", "dev"}, Options{Lost: func(error) {}})
	must(t, err)
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for i := range historyKept + 5 {
		must(t, s.SaveHistory(t.Context(), noon.Add(time.Duration(i)*time.Minute), []byte(`{"result":"succeeded"}`)))
	}
	must(t, other.SaveHistory(t.Context(), noon, []byte(`{}`)))
	list, err := s.cluster.maps.List(t.Context(), metav1.ListOptions{LabelSelector: labelRollout + "=" + acme.Name()})
	must(t, err)
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	slices.Sort(names)
	if len(names) != historyKept || names[0] != "ladder-history-acme-dev-20260304t120500.000" {
		t.Errorf("kept %d, the oldest %s", len(names), names[0])
	}
	report, err := unpack(list.Items[0].BinaryData[keyReport])
	if err != nil || string(report) != `{"result":"succeeded"}` {
		t.Errorf("report %q: %v", report, err)
	}
}

package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// lastMoment is how long a process may take from giving up its lock to its end.
const lastMoment = time.Second

// foreignPoll is how often the end of a plane of another process is looked for.
const foreignPoll = 500 * time.Millisecond

// Stop ends the plane, in order if it can within 10 s and ctx, else at once, and
// removes its folder. Stopping a plane that has ended is fine.
func (p *Plane) Stop(ctx context.Context) error {
	if p.process != nil {
		p.stopOwn(ctx)
	} else if err := p.stopForeign(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(p.Dir); err != nil {
		return fmt.Errorf("remove the folder of plane %s: %w", p.Name, err)
	}
	return nil
}

func (p *Plane) stopOwn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	_ = p.process.stdin.Close()
	// A kept plane no longer listens to its standard input.
	_ = p.process.command.Process.Signal(unix.SIGTERM)
	select {
	case <-p.process.done:
		_ = p.process.lock.Close()
	case <-ctx.Done():
		p.kill()
	}
}

// stopForeign ends a plane that another process started. The lock, which only
// the plane holds, tells whether the process of that number still is the plane.
func (p *Plane) stopForeign(ctx context.Context) error {
	graceful, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for _, step := range []struct {
		ctx    context.Context
		signal unix.Signal
	}{{graceful, unix.SIGTERM}, {context.WithoutCancel(ctx), unix.SIGKILL}} {
		if !p.alive() {
			return nil
		}
		if err := unix.Kill(p.PID, step.signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("end plane %s (process %d): %w", p.Name, p.PID, err)
		}
		ctx, cancel := context.WithTimeout(step.ctx, stopGrace)
		p.awaitDeath(ctx)
		cancel()
	}
	if p.alive() {
		return fmt.Errorf("plane %s (process %d) does not end", p.Name, p.PID)
	}
	return nil
}

// awaitDeath waits until the plane no longer lives or ctx ends. The lock goes
// with the plane's folder, a moment before the process does; a new plane must not
// use the folder in that moment. The moment is bounded because a process that
// nobody waits for keeps its number.
func (p *Plane) awaitDeath(ctx context.Context) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	var unlocked time.Time
	for {
		switch {
		case p.alive():
		case unlocked.IsZero():
			unlocked = time.Now()
		case unix.Kill(p.PID, 0) != nil, time.Since(unlocked) > lastMoment:
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// AwaitEnd waits until the plane no longer lives, however it ended, or ctx ends,
// and reports whether the plane did.
func (p *Plane) AwaitEnd(ctx context.Context) bool {
	if p.process != nil {
		select {
		case <-p.process.done:
			return true
		case <-ctx.Done():
			return false
		}
	}
	tick := time.NewTicker(foreignPoll)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// alive tells whether the plane's process lives.
func (p *Plane) alive() bool {
	if p.process != nil {
		select {
		case <-p.process.done:
			return false
		default:
			return true
		}
	}
	return held(filepath.Join(p.Dir, child.LockFile))
}

// keep makes the plane outlive this process.
func (p *Plane) keep() error {
	if _, err := p.process.stdin.Write([]byte(child.Keep)); err != nil {
		return fmt.Errorf("keep plane %s: %w", p.Name, err)
	}
	if err := p.process.stdin.Close(); err != nil {
		return fmt.Errorf("keep plane %s: %w", p.Name, err)
	}
	// From here on the plane alone holds the lock.
	if err := p.process.lock.Close(); err != nil {
		return fmt.Errorf("hand the lock to plane %s: %w", p.Name, err)
	}
	return nil
}

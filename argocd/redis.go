package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// redisTick is how often the clock of the Redis inside goes on: it knows no time
// of its own, so that without it nothing would ever expire.
const redisTick = time.Second

// startRedis runs a Redis on the loopback address until ctx ends, and returns its
// address.
func startRedis(ctx context.Context, password string) (string, error) {
	server := miniredis.NewMiniRedis()
	server.RequireAuth(password)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return "", fmt.Errorf("start the Redis inside: %w", err)
	}
	go func() {
		defer server.Close()
		tick := time.NewTicker(redisTick)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				server.SetTime(now)
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	}()
	return server.Addr(), nil
}

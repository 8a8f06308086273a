package sdk

// Handles returns how many session handles the host keeps.
func (s *Stepwell) Handles() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

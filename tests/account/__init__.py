"""The account: what AWS answers becomes a catalogue."""

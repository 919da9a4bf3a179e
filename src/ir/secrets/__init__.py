"""What should stay private: keys in addresses and texts are masked where they are shown, files of keys are left out."""

"""What no protocol can pass: walls, each proved where it is drawn, one file each."""

"""Figures, one file each: functions of rows and axes that compute nothing."""

/** The session that is the serial line of a machine which boots a system of its own; all others there are shells. */
export const SERIAL_SESSION = 'serial'

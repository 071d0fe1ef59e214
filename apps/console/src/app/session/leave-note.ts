/**
 * Why a session ended; the log-in form says it (R8.1). Each is an error code, but for the account that its owner
 * deleted: that is what was asked for.
 */
const NOTES = ['login_expired', 'password_expired', 'user_not_found', 'account_deleted'] as const
export type LeaveNote = (typeof NOTES)[number]

const NOTE_KEY = 'berth.leave-note'

/**
 * Keeps the reason over the change of page that follows the end of a session.
 * @param note See LeaveNote.
 */
export function writeLeaveNote(note: LeaveNote): void {
  try {
    sessionStorage.setItem(NOTE_KEY, note)
  } catch {
    // The form then opens without a reason.
  }
}

/** The reason why the last session ended, once; null when there is none. */
export function takeLeaveNote(): LeaveNote | null {
  try {
    const note = sessionStorage.getItem(NOTE_KEY)
    sessionStorage.removeItem(NOTE_KEY)
    return NOTES.find(known => known === note) ?? null
  } catch {
    return null
  }
}

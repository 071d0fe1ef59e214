import { by, email, newPassword, typedPassword, username } from '@berth/contract/fields'
import * as z from 'zod'
import { isConfirmed, MISMATCH } from '../../ui/confirmed-password.ts'

/** What the form holds that asks for a link to choose a new password. */
export const resetRequestForm = z.object({ email })

/** What the log-in form holds. */
export const loginForm = z.object({ email, password: typedPassword })

/** What the form holds that sets a new password (R5.2). */
export const newPasswordForm = z
  .object({ password: newPassword, confirm: z.string() })
  .refine(isConfirmed, MISMATCH)

/** What the sign-up form holds: the fields of the call, and the password once more (R5.2, R5.3). */
export const signupForm = z
  .object({
    name: username,
    email,
    password: newPassword,
    confirm: z.string(),
    agreement: z.boolean().refine(agreed => agreed, by('terms')),
  })
  .refine(isConfirmed, MISMATCH)

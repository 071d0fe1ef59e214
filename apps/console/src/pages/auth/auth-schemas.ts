import { by, email, newPassword, typedPassword, username } from '@berth/contract/fields'
import * as z from 'zod'

/** What the form holds that asks for a link to choose a new password. */
export const resetRequestForm = z.object({ email })

/** What the log-in form holds. */
export const loginForm = z.object({ email, password: typedPassword })

/** The confirmation says the same; said together with what else is wrong, not only when everything else is right. */
const mismatch = { ...by('password_mismatch'), path: ['confirm'], when: () => true }

/** What the form holds that sets a new password (R5.2). */
export const newPasswordForm = z
  .object({ password: newPassword, confirm: z.string() })
  .refine(values => values.password === values.confirm, mismatch)

/** What the sign-up form holds: the fields of the call, and the password once more (R5.2, R5.3). */
export const signupForm = z
  .object({
    name: username,
    email,
    password: newPassword,
    confirm: z.string(),
    agreement: z.boolean().refine(agreed => agreed, by('terms')),
  })
  .refine(values => values.password === values.confirm, mismatch)

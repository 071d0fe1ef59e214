import { IconAlertTriangle } from '@tabler/icons-react'
import classes from './FormFailure.module.css'

/** Why the server refused a form as a whole; nothing when it did not. */
export function FormFailure({ message }: { message: string | null }) {
  return (
    <div role="alert" className={message ? classes.failure : 'said'}>
      {message && (
        <>
          <IconAlertTriangle size={16} aria-hidden="true" />
          <span>{message}</span>
        </>
      )}
    </div>
  )
}

import { Notifications, notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconCheck, IconInfoCircle } from '@tabler/icons-react'
import type { MouseEvent } from 'react'
import classes from './Toasts.module.css'
import type { ToastHost, ToastLink } from './toast.ts'

const ICONS = { good: IconCheck, bad: IconAlertTriangle, info: IconInfoCircle } as const

/** Draws one toast through Mantine's notifications. */
export const drawToast: ToastHost = ({ tone, message, ms, id, link }) => {
  const Icon = ICONS[tone]
  notifications.show({
    id,
    message: link ? <Linked message={message} id={id} link={link} /> : message,
    autoClose: ms,
    withCloseButton: false,
    icon: <Icon size={18} />,
    classNames: { icon: classes.icon ?? '' },
    'data-tone': tone,
  } as Parameters<typeof notifications.show>[0])
}

function Linked({ message, id, link }: { message: string; id: string; link: ToastLink }) {
  const follow = (event: MouseEvent) => {
    // Another tab is the browser's own affair.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    notifications.hide(id)
    link.follow()
  }
  return (
    <span className={classes.linked}>
      <span>{message}</span>
      <a className={classes.link} href={link.href} onClick={follow}>
        {link.label}
      </a>
    </span>
  )
}

/** Where toasts appear: the top of the page (R2.21). */
export function Toasts() {
  return <Notifications position="top-center" limit={4} transitionDuration={120} zIndex={1000} />
}

import { Notifications, notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconCheck, IconInfoCircle } from '@tabler/icons-react'
import classes from './Toasts.module.css'
import type { ToastHost } from './toast.ts'

const ICONS = { good: IconCheck, bad: IconAlertTriangle, info: IconInfoCircle } as const

/** Draws one toast through Mantine's notifications. */
export const drawToast: ToastHost = ({ tone, message, ms, id }) => {
  const Icon = ICONS[tone]
  notifications.show({
    id,
    message,
    autoClose: ms,
    withCloseButton: false,
    icon: <Icon size={18} />,
    classNames: { icon: classes.icon ?? '' },
    'data-tone': tone,
  } as Parameters<typeof notifications.show>[0])
}

/** Where toasts appear: the top of the page (R2.21). */
export function Toasts() {
  return <Notifications position="top-center" limit={4} transitionDuration={120} zIndex={1000} />
}

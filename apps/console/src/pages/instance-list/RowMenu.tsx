import type { Instance } from '@berth/contract/instances'
import { Menu } from '@mantine/core'
import {
  IconHistory,
  IconPencil,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlugConnected,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react'
import { Fragment } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from '../../app/session/session.ts'
import { allowedOnlyIn, needsVerified, ROW_ACTIONS, type RowAction } from './instance-actions.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { MenuButton } from './MenuButton.tsx'
import classes from './RowActions.module.css'

const ICONS: Record<RowAction, typeof IconTrash> = {
  connect: IconPlugConnected,
  start: IconPlayerPlay,
  stop: IconPlayerStop,
  restart: IconRefresh,
  edit: IconPencil,
  events: IconHistory,
  terminate: IconTrash,
}

interface RowMenuProps {
  instance: Instance
  onAsk: (action: RowAction, instance: Instance) => void
}

/** Every action of an instance. What is off stays in sight and says why (R4.5). */
export function RowMenu({ instance, onAsk }: RowMenuProps) {
  const { t } = useTranslation(['instances', 'errors'])
  const { user } = useSession()
  const texts = useInstanceTexts()
  const reasonOf = (action: RowAction): string | null => {
    if (needsVerified(action) && user && !user.emailVerified) return t('errors:account_not_activated')
    const statuses = allowedOnlyIn(action, instance)
    return statuses && texts.onlyIn(statuses)
  }
  return (
    <Menu defaultOpened position="bottom-end" width={264} offset={4} returnFocus>
      <Menu.Target>
        <MenuButton name={instance.name} />
      </Menu.Target>
      <Menu.Dropdown>
        {ROW_ACTIONS.map(action => {
          const Icon = ICONS[action]
          const reason = reasonOf(action)
          return (
            <Fragment key={action}>
              {action === 'terminate' && <Menu.Divider />}
              <Menu.Item
                className={classes.item}
                data-danger={(action === 'terminate' && reason === null) || undefined}
                // Off, but within reach of the keyboard, so that its reason can be read.
                aria-disabled={reason !== null}
                closeMenuOnClick={reason === null}
                leftSection={<Icon size={16} stroke={1.6} />}
                onClick={() => reason === null && onAsk(action, instance)}
              >
                {texts.action(action)}
                {reason && <span className={classes.reason}>{reason}</span>}
              </Menu.Item>
            </Fragment>
          )
        })}
      </Menu.Dropdown>
    </Menu>
  )
}

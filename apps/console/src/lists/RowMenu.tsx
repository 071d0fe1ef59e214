import { Menu } from '@mantine/core'
import { Fragment, useRef } from 'react'
import { MenuButton } from './MenuButton.tsx'
import classes from './RowActions.module.css'
import type { RowActionItem } from './row-action.ts'

interface RowMenuProps {
  /** What it is, for screen readers. */
  label: string
  items: readonly RowActionItem<string>[]
  onAsk: (action: string) => void
}

/** Every action of a row. What is off stays in sight and says why (R4.5). */
export function RowMenu({ label, items, onAsk }: RowMenuProps) {
  const button = useRef<HTMLButtonElement>(null)
  return (
    <Menu
      defaultOpened
      position="bottom-end"
      width={264}
      offset={4}
      // Mantine's own way knows no opener for a menu that is open from the start.
      onClose={() => button.current?.focus({ preventScroll: true })}
    >
      <Menu.Target>
        <MenuButton ref={button} label={label} />
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(({ action, label, icon: Icon, reason, danger = false }) => (
          <Fragment key={action}>
            {danger && <Menu.Divider />}
            <Menu.Item
              className={classes.item}
              data-danger={(danger && reason === null) || undefined}
              // Off, but within reach of the keyboard, so that its reason can be read.
              aria-disabled={reason !== null}
              closeMenuOnClick={reason === null}
              leftSection={<Icon size={16} stroke={1.6} />}
              onClick={() => reason === null && onAsk(action)}
            >
              {label}
              {reason && <span className={classes.reason}>{reason}</span>}
            </Menu.Item>
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

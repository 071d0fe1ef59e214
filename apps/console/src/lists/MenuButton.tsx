import { ActionIcon } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import type { ComponentPropsWithRef } from 'react'
import { useTranslation } from 'react-i18next'

interface MenuButtonProps
  extends Omit<ComponentPropsWithRef<'button'>, 'name' | 'color' | 'style' | 'disabled'> {
  /** The row whose menu it opens. */
  name: string
}

/** The three dots of a row. */
export function MenuButton({ name, ...rest }: MenuButtonProps) {
  const { t } = useTranslation('common')
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-haspopup="menu"
      aria-label={t('row.menu', { name })}
      {...rest}
    >
      <IconDots size={16} stroke={1.6} />
    </ActionIcon>
  )
}

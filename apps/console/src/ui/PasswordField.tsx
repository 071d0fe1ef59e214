import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { IconEye, IconEyeOff } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'

/** A password that can be looked at; the button that shows it is reached by keyboard too. */
export function PasswordField(props: PasswordInputProps) {
  const { t } = useTranslation('common')
  const [shown, setShown] = useState(false)
  return (
    <PasswordInput
      {...props}
      // Mantine says this of other fields by itself.
      aria-invalid={Boolean(props.error)}
      visible={shown}
      visibilityToggleIcon={EyeIcon}
      onVisibilityChange={setShown}
      visibilityToggleButtonProps={{
        tabIndex: 0,
        'aria-label': t(shown ? 'password.hide' : 'password.show'),
        'aria-pressed': shown,
      }}
    />
  )
}

function EyeIcon({ reveal }: { reveal: boolean }) {
  const Icon = reveal ? IconEyeOff : IconEye
  return <Icon size={16} stroke={1.6} aria-hidden="true" />
}

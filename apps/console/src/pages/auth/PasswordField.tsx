import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'

/** A password that can be looked at; the button that shows it is reached by keyboard too. */
export function PasswordField(props: PasswordInputProps) {
  const { t } = useTranslation('auth')
  const [shown, setShown] = useState(false)
  return (
    <PasswordInput
      {...props}
      visible={shown}
      onVisibilityChange={setShown}
      visibilityToggleButtonProps={{
        tabIndex: 0,
        'aria-label': t(shown ? 'hide_password' : 'show_password'),
        'aria-pressed': shown,
      }}
    />
  )
}

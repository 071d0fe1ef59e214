import { Tooltip } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './SimulatedTag.module.css'

/** What the tag means. It covers the tag, lets the pointer through, and floats from there. */
export function SimulatedTooltip({ shown }: { shown: boolean }) {
  const { t } = useTranslation('instances')
  return (
    <Tooltip label={t('machine.simulated_hint')} opened={shown} multiline>
      <span className={classes.anchor} aria-hidden="true" />
    </Tooltip>
  )
}

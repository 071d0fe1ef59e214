import { backupCommands } from './backup-commands.ts'
import { booksCommands } from './books-commands.ts'
import { catalogueCommands } from './catalogue-commands.ts'
import { completionCommands } from './completion-commands.ts'
import { couponsCommands } from './coupons-commands.ts'
import { creditsCommands } from './credits-commands.ts'
import { customersCommands } from './customers-commands.ts'
import { imagesCommands } from './images-commands.ts'
import { instancesCommands } from './instances-commands.ts'
import { keysCommands } from './keys-commands.ts'
import type { Command } from './line/command.ts'
import { logCommands } from './log-commands.ts'
import { mailCommands } from './mail-commands.ts'
import { payoutsCommands } from './payouts-commands.ts'
import { refundsCommands } from './refunds-commands.ts'
import { regionsCommands } from './regions-commands.ts'

/** All that operators can do, in the order of the help: parsing, help, completion and the guide are made from this. */
export const COMMANDS: readonly Command[] = [
  ...customersCommands,
  ...creditsCommands,
  ...couponsCommands,
  ...refundsCommands,
  ...payoutsCommands,
  ...instancesCommands,
  ...regionsCommands,
  ...imagesCommands,
  ...catalogueCommands,
  ...booksCommands,
  ...mailCommands,
  ...keysCommands,
  ...logCommands,
  ...backupCommands,
  ...completionCommands(() => COMMANDS),
]

// Loaded into a program that runInForeground started (node --import). When the starting process is killed
// outright it can pass no signal on: the closing of their channel is then the news, and stops this one too.
if (process.channel) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel alone must not keep a program running that has nothing left to do.
  process.channel.unref()
}
